# case: until no box is left
import torch
from torchvision.ops import boxes as box_ops


def nms(boxes, scores, threshold):
    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:  # expect: hand-written-nms
        keep.append(order[0])
        overlaps = iou(boxes[order[:1]], boxes[order[1:]])
        order = order[1:][overlaps[0] <= threshold]
    return torch.stack(keep)


# case: of a detector
def non_max_suppression(prediction, conf_thres, nms_thres):
    output = [None for _ in range(len(prediction))]
    for i, detections in enumerate(prediction):
        keep_boxes = []
        while detections.size(0):  # expect: hand-written-nms
            large_overlap = bbox_iou(detections[0, :4].unsqueeze(0), detections[:, :4]) > nms_thres
            keep_boxes += [detections[0]]
            detections = detections[~large_overlap]
        output[i] = torch.stack(keep_boxes)
    return output


# case: by class
def nms_per_class(boxes, scores):
    picked = []
    while len(boxes) > 0:  # expect: hand-written-nms
        picked.append(boxes[0])
        boxes = boxes[1:][jaccard(boxes[0], boxes[1:]) < 0.5]
    return picked


# case: with a break
def box_nms(boxes, scores):
    keep = torch.zeros(len(boxes))
    for i in range(len(boxes)):  # expect: hand-written-nms
        inter = overlap(boxes[i], boxes[i + 1 :])
        if inter.numel() == 0:
            break
        keep[i] = inter.max() < 0.5
    return keep


# case: a method
class Detector:
    def _nms(self, boxes, scores):
        keep = []
        index = scores.sort(0)[1]
        while index.numel() > 0:  # expect: hand-written-nms
            keep.append(index[-1])
            index = index[:-1]
            inter = (boxes[index] * boxes[keep[-1]]).sum(1)
            index = index[inter <= 0.5]
        return keep


# case: hard ones
def hard_nms(box_scores, iou_threshold):
    picked = []
    indexes = box_scores[:, -1].argsort()
    while len(indexes) > 0:  # expect: hand-written-nms
        current = indexes[-1]
        picked.append(current)
        indexes = indexes[:-1]
        indexes = indexes[iou_of(box_scores[indexes], box_scores[current]) <= iou_threshold]
    return torch.stack(picked)


# case: the operator
def operator_nms(boxes, scores):
    return box_ops.nms(boxes, scores, 0.5)


# case: the operator for each picture
def nms_of_batch(boxes, scores):
    keep = []
    for b, s in zip(boxes, scores):
        while b.numel() > 10:
            b = b[iou(b, b)[0] < 0.9]
        keep.append(box_ops.batched_nms(b, s, s, 0.5))
    return keep


# case: softly
def soft_nms(boxes, scores):
    keep = []
    while boxes.numel() > 0:
        keep.append(boxes[0])
        scores = scores * (1 - iou(boxes[0], boxes))
        boxes = boxes[1:]
    return keep


# case: on the host
def nms_on_host(boxes):
    keep = []
    while len(boxes) > 0:
        keep.append(boxes[0])
        boxes = np.delete(boxes, np.where(iou(boxes[0], boxes) > 0.5))
    return keep


# case: another name
def suppress(boxes, scores):
    keep = []
    while boxes.numel() > 0:
        keep.append(boxes[0])
        boxes = boxes[1:][iou(boxes[0], boxes[1:]) < 0.5]
    return keep


# case: no overlaps
def nms_threshold(rows):
    kept = []
    while rows:
        kept.append(rows.pop())
    return kept


# case: no loop
def nms_by_matrix(boxes, scores):
    overlaps = iou(boxes, boxes).triu(1)
    return boxes[overlaps.amax(0) < 0.5]


# case: a loop over pictures
def nms_all(pictures):
    keep = []
    for boxes in pictures:
        keep.append(boxes[iou(boxes, boxes).triu(1).amax(0) < 0.5])
    return keep


# case: a kernel of the project
def nms_gpu(boxes, scores):
    keep = []
    while boxes.numel() > 100:
        boxes = boxes[iou(boxes, boxes)[0] < 0.5]
        keep.append(boxes)
    return nms_cuda.nms_forward(boxes, scores, 0.5)


# case: a setting
def set_nms(value):
    for part in value:
        keep.append(part)


# case: texts
def nms_name(kinds):
    return [f"nms-{kind}" for kind in kinds]


# case: of another function
def outer(boxes, scores):
    keep = nms(boxes, scores, 0.5)
    while len(keep) > 100:
        keep = keep[:-1]
    return keep
